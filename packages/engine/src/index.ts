export type { AttemptInput, AttemptOptions, LocalSource } from './attempt/input.ts'
export type { Docker, DockerOptions } from './docker/docker.ts'
export {
  runLocally,
  startEngine,
  type EngineEnd,
  type EngineOptions,
  type LocalRunOptions,
  type RunningEngine,
} from './engine.ts'
export type { LogFrame, Sink } from './report/sink.ts'
