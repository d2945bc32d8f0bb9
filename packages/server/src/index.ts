export { ServerConfig } from './config.ts'
export { fetchDocument } from './documents/fetch-document.ts'
export { ADMIN_TOKEN_FILE } from './identity/keys.ts'
export { startServer, type Retention, type RunningServer, type ServerOptions, type Timings } from './server.ts'
