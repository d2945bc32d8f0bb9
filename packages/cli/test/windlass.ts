/** Runs the command against the server of a scene, which needs no Docker and no images. */
import { execFile } from 'node:child_process'
import { WINDLASS } from '../../../e2e/support/programs.ts'
import type { HttpScene } from '../../server/test/support/http-scene.ts'

interface Finished {
  readonly code: number
  readonly text: string
}

/** Runs the command with the key of the first admin, or another one. */
export function windlass({ server, adminToken }: HttpScene, words: readonly string[], key = adminToken): Promise<Finished> {
  const env = {
    ...process.env,
    NO_COLOR: '1',
    WINDLASS_URL: server.url,
    WINDLASS_API_KEY: key,
    WINDLASS_CONFIG: '/nowhere/config',
  }
  return new Promise((resolve) => {
    execFile(WINDLASS, words, { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, text: stdout + stderr }),
    )
  })
}
