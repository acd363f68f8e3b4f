/** The scheduler's verbs over one connection. */

import type { SchedulingReads, SchedulingTx } from '../types/scheduling.ts';
import * as approvals from './approvals.ts';
import type { Sql } from './driver.ts';
import * as mail from './mail.ts';
import * as runs from './runs.ts';
import * as schedules from './schedules.ts';
import * as upkeep from './upkeep.ts';

export function schedulingOver(sql: Sql): SchedulingTx {
  return {
    insertSchedule: (schedule) => schedules.insertSchedule(sql, schedule),
    insertSchedulesRaw: (rows) => schedules.insertSchedulesRaw(sql, rows),
    lockSchedules: (ids) => schedules.lockSchedules(sql, ids),
    dueSchedules: (now, limit) => schedules.dueSchedules(sql, now, limit),
    saveSchedules: (rows) => schedules.saveSchedules(sql, rows),
    deleteSchedules: (ids) => schedules.deleteSchedules(sql, ids),
    lockChains: () => schedules.lockChains(sql),
    countSchedules: () => schedules.countSchedules(sql),
    edgesAround: (id, parentId) => schedules.edgesAround(sql, id, parentId),
    spawnedAround: (id) => schedules.spawnedAround(sql, id),
    relativesOf: (ids) => schedules.relativesOf(sql, ids),
    subtreeOf: (id) => schedules.subtreeOf(sql, id),
    takeTick: (scheduleId, at, now) => schedules.takeTick(sql, scheduleId, at, now),
    nameTick: (scheduleId, at, jobNo) => schedules.nameTick(sql, scheduleId, at, jobNo),
    addMissed: (rows) => schedules.addMissed(sql, rows),
    missedBeyond: (scheduleId, after, beyond) => schedules.missedBeyond(sql, scheduleId, after, beyond),
    dropTick: (scheduleId, at) => schedules.dropTick(sql, scheduleId, at),
    dropOldTicks: (before, limit) => schedules.dropOldTicks(sql, before, limit),
    dropOldMessages: (before, limit) => mail.dropOldMessages(sql, before, limit),
    insertRuns: (rows) => runs.insertRuns(sql, rows),
    runOf: (jobNo) => runs.runOf(sql, jobNo),
    hasTriggered: (jobNo, scheduleId) => runs.hasTriggered(sql, jobNo, scheduleId),
    setActivity: (jobNo, active) => runs.setActivity(sql, jobNo, active),
    noteRun: (jobNo, note) => runs.noteRun(sql, jobNo, note),
    overlap: (scheduleId) => runs.overlap(sql, scheduleId),
    firstWaiting: (scheduleId) => runs.firstWaiting(sql, scheduleId),
    anyOpenRun: (scheduleIds) => runs.anyOpenRun(sql, scheduleIds),
    openRuns: (scheduleIds, limit) => runs.openRuns(sql, scheduleIds, limit),
    outcomeOf: (jobNo) => runs.outcomeOf(sql, jobNo),
    lineageSize: (rootNo) => runs.lineageSize(sql, rootNo),
    insertApproval: (row) => approvals.insertApproval(sql, row),
    requestApproval: (jobNo, now) => approvals.requestApproval(sql, jobNo, now),
    lockApproval: (jobNo) => approvals.lockApproval(sql, jobNo),
    resolveApproval: (jobNo, end) => approvals.resolveApproval(sql, jobNo, end),
    pendingApprovals: (scheduleId) => approvals.pendingApprovals(sql, scheduleId),
    insertMessage: (message) => mail.insertMessage(sql, message),
    countSpawns: (jobNo) => mail.countSpawns(sql, jobNo),
    pendingSpawns: (limit) => mail.pendingSpawns(sql, limit),
    endMessage: (no, status, error, at) => mail.endMessage(sql, no, status, error, at),
  };
}

export function schedulingReads(sql: Sql): SchedulingReads {
  return {
    schedulesByPrefix: (prefix, limit) => schedules.schedulesByPrefix(sql, prefix, limit),
    schedules: (filter) => schedules.schedules(sql, filter),
    scheduleMark: () => schedules.scheduleMark(sql),
    scheduleStamps: (filter) => schedules.scheduleStamps(sql, filter),
    waitingRuns: (ids) => runs.waitingRuns(sql, ids),
    nextScheduleAt: () => schedules.nextScheduleAt(sql),
    missedTicks: (scheduleId, limit) => schedules.missedTicks(sql, scheduleId, limit),
    scheduleEdges: () => schedules.scheduleEdges(sql),
    runs: (filter) => runs.runs(sql, filter),
    runOf: (jobNo) => runs.runOf(sql, jobNo),
    runsByNo: (jobNos) => runs.runsByNo(sql, jobNos),
    chainStarters: (jobNos) => runs.chainStarters(sql, jobNos),
    endedRuns: (limit) => runs.endedRuns(sql, limit),
    runHistory: (scheduleId, limit) => runs.runHistory(sql, scheduleId, limit),
    adoptable: () => runs.adoptable(sql),
    servers: () => upkeep.servers(sql),
    approvals: (filter) => approvals.approvals(sql, filter),
    approval: (jobNo) => approvals.approval(sql, jobNo),
    approvalsByNo: (jobNos) => approvals.approvalsByNo(sql, jobNos),
    expiredApprovals: (now, limit) => approvals.expiredApprovals(sql, now, limit),
    nextApprovalAt: () => approvals.nextApprovalAt(sql),
    message: (id) => mail.message(sql, id),
    messages: (filter) => mail.messages(sql, filter),
  };
}
