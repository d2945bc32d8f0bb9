/** Images for tests: the shell image with other settings. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { removeImages } from '../../../../e2e/support/leftovers.ts'
import { image } from './images.ts'

const run = promisify(execFile)

export interface ImageSettings {
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly WorkingDir?: string
}

export async function buildImage(name: string, settings: ImageSettings): Promise<void> {
  const { stdout } = await run('docker', ['create', image('shell'), 'true'])
  const id = stdout.trim()
  const changes = [
    settings.Entrypoint && `ENTRYPOINT ${JSON.stringify(settings.Entrypoint)}`,
    settings.Cmd && `CMD ${JSON.stringify(settings.Cmd)}`,
    settings.WorkingDir && `WORKDIR ${settings.WorkingDir}`,
  ].filter((change) => change !== undefined)
  await run('docker', ['commit', ...changes.flatMap((change) => ['--change', change]), id, name])
  await run('docker', ['rm', id])
}

/** Removes an image, with all its tags if none is given. */
export async function deleteImage(name: string): Promise<void> {
  if (/:[^/]+$/.test(name)) await run('docker', ['rmi', '--force', name])
  else await removeImages((repository) => repository === name)
}
