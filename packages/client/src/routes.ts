/** The routes for users, by resource. */
import { keys, masterKeys, server, sessions, settings } from './routes/account.ts'
import { annotations, builds, debug, images } from './routes/builds.ts'
import { contexts, pipelines, projects, stepTypes } from './routes/pipelines.ts'
import { agents, certificates, clusters, installations, monitors, runtimes } from './routes/runner.ts'

export const ROUTES = {
  server,
  builds,
  debug,
  pipelines,
  projects,
  contexts,
  stepTypes,
  agents,
  runtimes,
  clusters,
  certificates,
  installations,
  monitors,
  annotations,
  images,
  keys,
  sessions,
  masterKeys,
  settings,
} as const
