/** Archives of servers, for commands that work without a running server. */
export {
  loadArchive,
  readArchive,
  readServerConfig,
  recoverAdmin,
  toServerOptions,
  writeDirectly,
} from '@windlass/server/archive'
export type { ArchiveTrailer, LoadedArchive } from '@windlass/server/archive'
