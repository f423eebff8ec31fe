/* An empty library, which stands for one of the C library's while kernels are linked. */
