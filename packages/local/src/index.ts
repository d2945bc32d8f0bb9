export type { HeldStep } from '@windlass/engine'
export { runLocalBuild, volumeNameOf, type LocalBuild, type LocalBuildOptions, type LocalWatcher } from './run-local.ts'
export { LOCAL_RUNTIME, startLocalServer, type LocalServer, type LocalServerOptions } from './start-local-server.ts'
