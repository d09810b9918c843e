// Imports a module of figures/views/attention with those that it imports, from data URLs: node takes a .js file for
// CommonJS where no package.json says otherwise, and the package holds none.
import { readFile } from "node:fs/promises";

const known = new Map();

async function address(name) {
  if (known.has(name)) return known.get(name);
  let source = await readFile(new URL(`../../bertviz_lite/figures/views/attention/${name}.js`, import.meta.url), "utf8");
  for (const [found, other] of [...source.matchAll(/"\.\/([a-z_]+)\.js"/g)]) source = source.replaceAll(found, JSON.stringify(await address(other)));
  known.set(name, `data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
  return known.get(name);
}

export const load = async (name) => import(await address(name));
