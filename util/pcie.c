/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/pcie.h"

#include <stdio.h>

enum {
    MTS_8B10B = 5000, /* up to this, and then up to the next */
    MTS_128B130B = 32000,
    HEADER_BYTES = 26,
    PACKETS = 4, /* that are acknowledged together, by so many bytes */
    PACKETS_BYTES = 16,
};

double pcie_bits (const struct pcie_rate *rate)
{
    double share = rate->mts <= MTS_8B10B      ? 8. / 10
                   : rate->mts <= MTS_128B130B ? 128. / 130
                                               : 236. / 256;

    return 1e6 * rate->mts * rate->lanes * share;
}

double pcie_usable (const struct pcie_rate *rate, unsigned int payload)
{
    double data = PACKETS * (double)payload;

    return pcie_bits (rate) * data
           / (data + PACKETS * HEADER_BYTES + PACKETS_BYTES);
}

char *pcie_format (const struct pcie_rate *rate, char buf[PCIE_TEXT])
{
    snprintf (buf, PCIE_TEXT, "%g GT/s x%u", rate->mts / 1e3, rate->lanes);
    return buf;
}
