export { startServer, type Retention, type RunningServer, type ServerOptions, type Timings } from './server.ts'
