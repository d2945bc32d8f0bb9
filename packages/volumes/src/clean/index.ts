/** Pure decisions about what to remove from a daemon's disk, for the engine. Imports nothing that accesses a cluster. */
export {
  chooseImages,
  choosePurge,
  chooseVolumes,
  type Choice,
  type DaemonImage,
  type DaemonState,
  type DaemonVolume,
} from './daemon.ts'
export { dueReason, isTooFull, MEASURES, type DueReason, type Measure } from './due.ts'
export { readDiskFacts, type DiskFacts, type DiskUsage } from './facts.ts'
export { lineOf, USE_ACTIONS, UseHistory, usesOf, type Use } from './history.ts'
export { readRemovals, writeRemovals, type Removal } from './removals.ts'
export { readCleanSettings, type CleanSettings } from './settings.ts'
