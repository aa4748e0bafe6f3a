"""A ROS 2 node that sends scene graphs of Hydra to `neuraltrees serve` and publishes them with their labels.

    neuraltrees serve model.safetensors --port 8000
    python3 label_scene_graphs.py --ros-args -p server:=http://127.0.0.1:8000 -r dsg_in:=/hydra/backend/dsg

It needs rclpy and hydra_msgs of the ROS workspace and nothing of neuraltrees. Graphs are forwarded as they are, in the
binary form of Spark-DSG, so the server needs spark-dsg of the same version as Hydra (extra hydra of neuraltrees).
"""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request

import rclpy
from hydra_msgs.msg import DsgUpdate
from rclpy.node import Node


class LabelSceneGraphs(Node):
    """Forwards graphs to the server and publishes the answers; of graphs that come meanwhile, only the latest is kept.

    Parameters: `server`, the address of the server; `timeout`, seconds to wait for an answer. If the server needs a
    token, set the environment variable NEURALTREES_TOKEN.
    """

    def __init__(self) -> None:
        super().__init__("label_scene_graphs")
        self._server = self.declare_parameter("server", "http://127.0.0.1:8000").value
        self._timeout = float(self.declare_parameter("timeout", 10.0).value)
        self._publisher = self.create_publisher(DsgUpdate, "dsg_out", 1)
        self._subscription = self.create_subscription(DsgUpdate, "dsg_in", self._label, 1)

    def _label(self, message: DsgUpdate) -> None:
        if not message.full_update:
            self.get_logger().warning("Expected a whole graph; got an update of a part of it, which is ignored.")
            return
        headers = {"Content-Type": "application/octet-stream"}
        if "NEURALTREES_TOKEN" in os.environ:
            headers["Authorization"] = f"Bearer {os.environ['NEURALTREES_TOKEN']}"
        request = urllib.request.Request(
            f"{self._server}/predict?output=scene", bytes(message.layer_contents), headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as answer:
                labelled = answer.read()
        except urllib.error.HTTPError as error:
            self.get_logger().error(f"The server refused a graph ({error.code}): {error.read().decode()}")
            return
        except (OSError, http.client.HTTPException) as error:
            self.get_logger().error(f"No answer from {self._server}: {error}")
            return
        self._publisher.publish(
            DsgUpdate(
                header=message.header,
                layer_contents=labelled,
                full_update=True,
                sequence_number=message.sequence_number,
            )
        )


def main() -> None:
    rclpy.init()
    node = LabelSceneGraphs()
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
