"""The same equations in blocks on a Dask cluster, behind the same seam."""
