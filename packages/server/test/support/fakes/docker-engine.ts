/** A real engine on the Docker daemon of this machine, in the process of the test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock } from '@windlass/kit'
import { removeBuilds } from '../../../../../e2e/support/leftovers.ts'
import { startEngine, type EngineOptions, type RunningEngine } from '../../../../engine/src/index.ts'
import type { HttpScene } from '../http-scene.ts'
import { claimStart } from './fake-agent.ts'

export interface DockerEngine extends AsyncDisposable {
  readonly engine: RunningEngine
  readonly buildId: string
}

export interface DockerEngineOptions {
  readonly toolsImage: string | undefined
  /** Default: that of the server of the scene. */
  readonly serverUrl?: string | undefined
  /** Takes what the engine measures. */
  readonly metrics?: EngineOptions['metrics']
}

/** Claims the next start task and runs it. Disposing stops the engine and removes what the build left. */
export async function startDockerEngine(
  { admin, agent, server }: HttpScene,
  { toolsImage, serverUrl = server.url, metrics }: DockerEngineOptions,
): Promise<DockerEngine> {
  const task = await claimStart(agent)
  const { pipelineId } = await admin.builds.get(task.buildId)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-debug-'))
  const engine = startEngine({
    serverUrl,
    bootstrap: task.engine.bootstrap,
    dockerEnv: process.env,
    spoolDir: folder,
    clock: systemClock,
    log: silentLog,
    toolsImage,
    metrics,
  })
  await agent.report(task, 'done')
  return {
    engine,
    buildId: task.buildId,
    async [Symbol.asyncDispose]() {
      await engine.stop()
      // The volume of a pipeline stays for its next build.
      await removeBuilds([task.buildId, ...(pipelineId === undefined ? [] : [pipelineId])])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
