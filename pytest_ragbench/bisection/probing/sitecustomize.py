"""Python runs this when it starts: it isolates the process, then runs the module of this name that it stands before."""

import ragbench_probe  # type: ignore[import-not-found] # beside this file, whose folder is on the path

ragbench_probe.isolate()
ragbench_probe.run_shadowed("sitecustomize")
