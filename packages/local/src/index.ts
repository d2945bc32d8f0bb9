export type { HeldStep } from '@windlass/engine'
export { runLocalBuild, volumeNameOf, type LocalBuild, type LocalWatcher } from './run-local.ts'
export type { LocalBuildOptions } from './local-build-options.ts'
export { LOCAL_RUNTIME, startLocalServer, type LocalServer, type LocalServerOptions } from './start-local-server.ts'
