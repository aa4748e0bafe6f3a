"""The rooms of objects, and the extents of rooms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neuraltrees.scenes.scene import Float64, Int64, Scene
from neuraltrees.scenes.spec import OBJECT, PLACES, ROOM
from neuraltrees.scenes.values import number

NOWHERE = -1


def roles(scene: Scene) -> tuple[npt.NDArray[np.bool_], ...]:
    """Which nodes are objects, which places and which rooms."""
    kinds = np.array([[kind == OBJECT, kind in PLACES, kind == ROOM] for kind in scene.types], dtype=bool)
    found = kinds.reshape(-1, 3)[scene.node_type]
    return found[:, 0], found[:, 1], found[:, 2]


def rooms_of(scene: Scene) -> Int64:
    """The room of every object and place, as a number of the scene; -1 for none and for all other nodes.

    An object is in the room that an edge joins it to; else in that of its place; else in that of the nearest place
    that is adjacent to its place and has a room. If there are several, the one that was stored first is used.

    Shapes: → :math:`(n)`
    """
    is_object, is_place, is_room = roles(scene)
    ends = np.concatenate([scene.edges, scene.edges[:, ::-1]])
    near, far = ends[:, 0], ends[:, 1]
    to_room, to_place = is_room[far], is_place[far]
    found = _least(scene.num_nodes, ends[to_room & (is_object | is_place)[near]])
    between = ends[to_place & is_object[near]]
    if len(between):
        of_place = np.where(is_place, found, NOWHERE)
        beside = _room_beside(scene, ends[to_place & is_place[near]], of_place)
        for rooms in (of_place, beside):
            free = between[(found[between[:, 0]] == NOWHERE) & (rooms[between[:, 1]] != NOWHERE)]
            first = free[np.lexsort((free[:, 1], free[:, 0]))]
            found[first[::-1, 0]] = rooms[first[::-1, 1]]
    return found


def _least(count: int, pairs: Int64) -> Int64:
    """For every node the least partner, -1 for none."""
    found = np.full(count, count, np.int64)
    np.minimum.at(found, pairs[:, 0], pairs[:, 1])
    found[found == count] = NOWHERE
    return found


def _room_beside(scene: Scene, adjacent: Int64, of_place: Int64) -> Int64:
    """For every place the room of its nearest neighbour that has one."""
    found = np.full(scene.num_nodes, NOWHERE)
    adjacent = adjacent[of_place[adjacent[:, 1]] != NOWHERE]
    place, other = adjacent[:, 0], adjacent[:, 1]
    distance = np.linalg.norm(scene.positions[place] - scene.positions[other], axis=1)
    order = np.lexsort((other, np.where(np.isnan(distance), np.inf, distance), place))[::-1]
    found[place[order]] = of_place[other[order]]
    return found


def room_boxes(scene: Scene, room: Int64) -> tuple[Float64, Float64]:
    """Centre and size of all nodes; rooms without a box of their own have that of their places, else of their objects.

    A place counts with the free space around it, its `distance` to the nearest obstacle.

    Args:
        room: the room of every object and place.

    Shapes: room :math:`(n)` → :math:`(n, 3)` and :math:`(n, 3)`
    """
    is_object, is_place, is_room = roles(scene)
    missing = is_room & np.isnan(scene.sizes).any(1)
    if not missing.any():
        return scene.box_centres, scene.sizes
    centres, sizes = scene.box_centres.copy(), scene.sizes.copy()
    inhabited = room != NOWHERE
    for members, by_place in ((is_place, True), (is_object, False)):
        inside = np.flatnonzero(members & inhabited)
        inside = inside[missing[room[inside]]]
        if not len(inside):
            continue
        middle = scene.positions[inside]
        if by_place:
            half = _clearance(scene, inside)
        else:
            middle = np.where(np.isnan(scene.box_centres[inside]), middle, scene.box_centres[inside])
            half = np.nan_to_num(scene.sizes[inside] / 2)
        known = np.flatnonzero(~np.isnan(middle).any(1))
        known = known[np.argsort(room[inside[known]], kind="stable")]
        if not len(known):
            continue
        of = room[inside[known]]
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        low = np.minimum.reduceat(middle[known] - half[known], starts)
        high = np.maximum.reduceat(middle[known] + half[known], starts)
        found = of[starts]
        centres[found], sizes[found] = (low + high) / 2, high - low
        missing[found] = False
    return centres, sizes


def _clearance(scene: Scene, places: Int64) -> Float64:
    """The free space around places. Shapes: :math:`(p)` → :math:`(p, 1)`"""
    given = (number(scene.attributes[i].get("distance")) for i in places.tolist())
    return np.array([max(distance or 0.0, 0.0) for distance in given]).reshape(-1, 1)
