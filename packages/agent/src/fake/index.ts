/** Fake engines in place of pods: real calls to a real server, thousands of builds a minute, deaths where a script says so. */
export { openFakeCluster, type FakeCluster, type FakeClusterOptions } from './cluster.ts'
export { type FakeObservation, type Observe } from './engine.ts'
export {
  CRASH_POINTS,
  DEFAULT_SCRIPT,
  draw,
  stepOutput,
  stepOutputBytes,
  type CrashPoint,
  type FakeScript,
  type StepRun,
} from './script.ts'
