// Numbers as they travel, from figures/pack.py: the length of a JSON header, the header, then the arrays it names.

// { header fields…, arrays: { name: typed array } } of a Uint8Array.
export async function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const arrays = {};
  for (const [name, place] of Object.entries(header.arrays)) {
    const found = bytes.slice(place.start, place.start + place.bytes); // a copy begins at 0, as wider arrays must
    const raw = place.deflated ? await inflate(found) : found;
    if (place.dtype === "uint8") arrays[name] = raw;
    else if (place.dtype === "float32") arrays[name] = new Float32Array(raw.buffer);
    else arrays[name] = Float32Array.from(new Uint16Array(raw.buffer), half);
  }
  return { ...header, arrays };
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// IEEE 754 binary16 from its bits.
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * 2 ** -24 * fraction;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
}

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
