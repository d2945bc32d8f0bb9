export { startV1Agent, type V1Agent, type V1Options } from './agent.ts'
export { openPlatform, type Platform, type PlatformOptions } from './platform.ts'
export { type V1Cluster } from './carry-out.ts'
export { openWorkflowStarts } from './workflow-starts.ts'
