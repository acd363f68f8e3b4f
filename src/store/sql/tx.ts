/** The transaction's verbs, bound to one connection. */

import type { Tx } from '../store.ts';
import type { Sql } from './driver.ts';
import * as events from './events.ts';
import * as jobs from './jobs.ts';
import * as pools from './pools.ts';
import * as raw from './raw.ts';
import { schedulingOver } from './scheduling.ts';
import * as tokens from './tokens.ts';
import * as upkeep from './upkeep.ts';

/** The verbs that belong to a database alone. */
export type OwnVerbs = Pick<Tx, 'notify' | 'defer'>;

export function transactionOver(sql: Sql, own: OwnVerbs): Tx {
  return {
    ...own,
    ...schedulingOver(sql),
    lockJobs: (ids) => jobs.lockJobs(sql, ids),
    lockJobsByNo: (nos) => jobs.lockJobsByNo(sql, nos),
    readyJobs: (target, window) => jobs.readyJobs(sql, target, window),
    readyJobsOfType: (target, typeNo, window) => jobs.readyJobsOfType(sql, target, typeNo, window),
    hasReady: (target) => jobs.hasReady(sql, target),
    claimedUnder: (claimId, limit) => jobs.claimedUnder(sql, claimId, limit),
    insertJobs: (rows) => jobs.insertJobs(sql, rows),
    updateJobs: (changes) => jobs.updateJobs(sql, changes),
    saveOutcomes: (rows) => jobs.saveOutcomes(sql, rows),
    addComments: (rows) => jobs.addComments(sql, rows),
    addLogs: (rows) => jobs.addLogs(sql, rows),
    findUnique: (typeNo, uniqueKey) => jobs.findUnique(sql, typeNo, uniqueKey),
    countChildren: (parentNo) => jobs.countChildren(sql, parentNo),
    treeAbove: (no) => jobs.treeAbove(sql, no),
    countDescendants: (no, limit) => jobs.countDescendants(sql, no, limit),
    openDescendants: (no, limit) => jobs.openDescendants(sql, no, limit),
    addToFeed: (rows, at) => events.addToFeed(sql, rows, at),
    appendEvents: (rows, at) => events.appendEvents(sql, rows, at),
    addCounts: (lane, deltas) => events.addCounts(sql, lane, deltas),
    addOutbox: (rows) => events.addOutbox(sql, rows),
    findIdempotent: (key) => events.findIdempotent(sql, key),
    rememberIdempotent: (rows) => events.rememberIdempotent(sql, rows),
    addDependencies: (rows) => upkeep.addDependencies(sql, rows),
    dependentsOf: (parentNo) => upkeep.dependentsOf(sql, parentNo),
    settleDependencies: (parentNo) => upkeep.settleDependencies(sql, parentNo),
    lastOfLineage: (rootNo) => jobs.lastOfLineage(sql, rootNo),
    inputOf: (jobNo) => jobs.inputOf(sql, jobNo),
    freeLanes: (pool, count, max) => pools.freeLanes(sql, pool, count, max),
    freeSlots: (pool, count) => pools.freeSlots(sql, pool, count),
    ensureKeySlots: (keyPool, pool) => pools.ensureKeySlots(sql, keyPool, pool),
    takeSlots: (rows) => pools.takeSlots(sql, rows),
    releaseSlots: (jobNos) => pools.releaseSlots(sql, jobNos),
    bestWaiters: (pool, ofEach) => pools.bestWaiters(sql, pool, ofEach),
    savePool: (pool, at) => pools.savePool(sql, pool, at),
    ensurePool: (pool, at) => pools.ensurePool(sql, pool, at),
    deletePool: (name) => pools.deletePool(sql, name),
    setPaused: (kind, name, paused, at, by) => upkeep.setPaused(sql, kind, name, paused, at, by),
    routingRevision: () => upkeep.routingRevision(sql),
    saveType: (type, at) => upkeep.saveType(sql, type, at),
    addToken: (token) => tokens.addToken(sql, token),
    revokeToken: (which, at, by) => tokens.revokeToken(sql, which, at, by),
    addAudit: (entry) => tokens.addAudit(sql, entry),
    dropOldAudit: (before, limit) => tokens.dropOldAudit(sql, before, limit),
    beat: (name, at) => upkeep.beat(sql, name, at),
    forgetServers: (before) => upkeep.forgetServers(sql, before),
    keepMeta: (name, value) => upkeep.keepMeta(sql, name, value),
    setMeta: (name, value) => upkeep.setMeta(sql, name, value),
    claimOutbox: (now, limit, leaseMs) => events.claimOutbox(sql, now, limit, leaseMs),
    deleteOutbox: (no) => upkeep.deleteOutbox(sql, no),
    postponeOutbox: (no, runAt, error) => upkeep.postponeOutbox(sql, no, runAt, error),
    deleteJobs: (nos) => jobs.deleteJobs(sql, nos),
    dropOldIdempotency: (before, limit) => upkeep.dropOldIdempotency(sql, before, limit),
    dropOldOutbox: (before, limit) => upkeep.dropOldOutbox(sql, before, limit),
    dropEmptyFlushes: (before, limit) => upkeep.dropEmptyFlushes(sql, before, limit),
    dropFreeKeySlots: (limit) => pools.dropFreeKeySlots(sql, limit),
    saveBlob: (blob) => upkeep.saveBlob(sql, blob),
    numberFlushes: (limit) => events.numberFlushes(sql, limit),
    insertJobsRaw: (rows) => raw.insertJobsRaw(sql, rows),
    insertFeedRaw: (rows) => raw.insertFeedRaw(sql, rows),
    insertEventsRaw: (rows) => raw.insertEventsRaw(sql, rows),
    insertTypeRaw: (type) => raw.insertTypeRaw(sql, type),
  };
}
