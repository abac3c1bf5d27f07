"""A kernel manager that starts this environment's Python, whatever kernels a person has registered under the name.

It is what nbval does with `--nbval-current-env`, so that building and checking run the same interpreter.
"""

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from traitlets import default


class OwnKernelSpecManager(KernelSpecManager):
    """Knows one kernel: the running interpreter with ipykernel."""

    def get_kernel_spec(self, kernel_name: str):
        return self.kernel_spec_class(resource_dir=RESOURCES, **get_kernel_dict())


class OwnKernelManager(AsyncKernelManager):
    """Starts the kernel of `OwnKernelSpecManager`."""

    @default("kernel_spec_manager")
    def _own(self) -> OwnKernelSpecManager:
        return OwnKernelSpecManager(parent=self)
