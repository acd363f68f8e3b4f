#!/usr/bin/env node
'use strict';
require('./launcher.cjs')(__filename);
