// All of frit's public API.
#pragma once

#include "frit/dtype.h"
#include "frit/graph_builder.h"
#include "frit/header_version.h"
#include "frit/log.h"
#include "frit/model.h"
#include "frit/numerics.h"
#include "frit/options.h"
#include "frit/result.h"
#include "frit/session.h"
#include "frit/stats.h"
#include "frit/stop.h"
#include "frit/tensor.h"
#include "frit/version.h"
