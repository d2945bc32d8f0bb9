/** Archives, for commands that work without a running server. */
export { readServerConfig, toServerOptions } from '../config.ts'
export type { ArchiveHeader, ArchiveTrailer } from './format.ts'
export { recoverAdmin } from '../identity/sessions/recover-admin.ts'
export { loadArchive, type LoadedArchive } from './load-archive.ts'
export { readArchive } from './read-archive.ts'
export { writeDirectly } from './write-directly.ts'
