# SPDX-License-Identifier: GPL-2.0-or-later
"""Spack's recipe, for packages/slurm-pmm/ in a repository of one's own
(packages/slurm_pmm/ since Spack 1.0). It builds the tree that it is run in:

    spack dev-build slurm-pmm@main ^slurm@24.11
"""

from spack.package import depends_on, license, variant, version

try:
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
except ImportError:  # before Spack 1.0
    from spack.package import AutotoolsPackage


class SlurmPmm(AutotoolsPackage):
    """Find the slow InfiniBand cables of a Slurm cluster, by the few round
    trips that tell the cables of a job apart."""

    license("GPL-2.0-or-later")

    version("main")

    variant("slurm", default=True, description="srun --pmm-check, and audits")
    variant("fabric", default=True, description="Read live fabrics")
    variant("scotch", default=False, description="pmm-compare map by Scotch")
    variant("mpi", default=False, description="Build pmm-probe-mpi")

    depends_on("c", type="build")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("jansson@2.9:")
    depends_on("pmix@3:")
    depends_on("rdma-core")
    depends_on("sqlite@3.24:")
    depends_on("zlib-api")
    # The plugin fits the release of Slurm that it was built for.
    depends_on("slurm@22.05: +pmix", when="+slurm")
    depends_on("scotch@7:", when="+scotch")
    depends_on("mpi", when="+mpi")

    def configure_args(self):
        args = [
            "--sysconfdir=/etc",
            "--with-verbs",
            "--with-ledger",
            f"--with-plugindir={self.prefix.lib}/slurm",
        ]
        args += self.with_or_without("slurm", activation_value="prefix")
        args += self.with_or_without("fabric")
        args += self.with_or_without("scotch")
        args += self.with_or_without(
            "mpi", activation_value=lambda _: self.spec["mpi"].name
        )
        return args
