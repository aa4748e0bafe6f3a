"""Views of scenes: an HTML page for a browser, and recordings for Rerun."""

from neuraltrees.viewing.frames import SceneFrame
from neuraltrees.viewing.page import scene_page, write_scene_page
from neuraltrees.viewing.predicted import predicted_frames
from neuraltrees.viewing.recording import scene_recording, write_scene_recording

__all__ = [
    "SceneFrame",
    "predicted_frames",
    "scene_page",
    "scene_recording",
    "write_scene_page",
    "write_scene_recording",
]
