export { runLocalBuild, volumeNameOf, type LocalBuild, type LocalBuildOptions, type LocalWatcher } from './run-local.ts'
