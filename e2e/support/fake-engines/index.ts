/** Fake engines instead of pods: the reporter of the real engine, no containers, crashes where a script says so. */
export { openFakeCluster, type FakeCluster, type FakeClusterOptions } from './cluster.ts'
export { type FakeObservation, type HoldStep, type Observe } from './engine.ts'
export { asciiJson, leaksOf, stepOutput } from './output.ts'
export { CRASH_POINTS, DEFAULT_SCRIPT, draw, stepVerdict, type CrashPoint, type FakeScript, type StepRun } from './script.ts'
