"""The network as a tree, in the form that `print(model)` gives: equal layers folded, shapes and counts beside."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Node:
    """A block of the network.

    Attributes:
        name: its attribute name, or a range such as "0-5" for equal blocks.
        kind: its class.
        shapes: (name, shape) of the parameters that are its own, not its children's.
        parameters: of the whole block, children included, one repeat; a shared parameter counts where it comes first.
        repeats: how many equal blocks this one stands for.
        children: its blocks, in order.
    """

    name: str
    kind: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    parameters: int
    repeats: int
    children: tuple[Node, ...]

    @property
    def label(self) -> str:
        """One line about it: name, class, shapes, parameters."""
        times = f"{self.repeats} × " if self.repeats > 1 else ""
        shapes = ", ".join(f"{name} {' × '.join(f'{n:,}' for n in shape)}" for name, shape in self.shapes)
        told = [f"({self.name}): {times}{self.kind}" if self.name else self.kind]
        if shapes:
            told.append(shapes)
        if self.parameters:
            told.append(f"{self.parameters:,} parameters{' each' if self.repeats > 1 else ''}")
        elif self.shapes:
            told.append("shared, counted above")
        return " · ".join(told)


def module_tree(model: nn.Module) -> Node:
    """The tree of a network; parameters that two blocks share count in the first."""
    return _node("", model, set())


def _node(name: str, module: nn.Module, seen: set[int]) -> Node:
    own = dict(module.named_parameters(recurse=False, remove_duplicate=False))
    counted = sum(p.numel() for p in own.values() if id(p) not in seen)
    seen.update(id(p) for p in own.values())
    children = _folded([_node(child_name, child, seen) for child_name, child in module.named_children()])
    return Node(
        name=name,
        kind=type(module).__name__,
        shapes=tuple((key, tuple(p.shape)) for key, p in own.items()),
        parameters=counted + sum(child.parameters * child.repeats for child in children),
        repeats=1,
        children=children,
    )


def _folded(nodes: list[Node]) -> tuple[Node, ...]:
    """Neighbours that differ in their number alone become one node."""
    folded: list[Node] = []
    for node in nodes:
        last = folded[-1] if folded else None
        if last is not None and node.name.isdigit() and _content(last) == _content(node):
            first = last.name.split("-")[0]
            folded[-1] = Node(
                f"{first}-{node.name}", node.kind, node.shapes, node.parameters, last.repeats + 1, node.children
            )
        else:
            folded.append(node)
    return tuple(folded)


def _content(node: Node) -> tuple[object, ...]:
    return node.kind, node.shapes, node.parameters, node.children


__all__ = ["Node", "module_tree"]
