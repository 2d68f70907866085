"""An inquiry and its life: the values, how one is drafted from what an agent sent, and its states."""
