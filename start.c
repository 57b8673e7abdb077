#include <stdio.h>
#include "util/slurmapi.h"
int main (void)
{
    struct error err;

    if (slurmapi_start (&err) == 0)
        return 0;
    puts (err.text);
    return err.fault;
}
