import { fault } from '@windlass/kit'
import { MASK, type ContextInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import type { readKubeconfig } from './kubeconfig.ts'

/** Runs `readKubeconfig` in the document pool, because texts of users may be large. Throws the same faults as `DocumentPool.read`. */
export async function readStoredKubeconfig(app: App, text: string, name: string): Promise<ReturnType<typeof readKubeconfig>> {
  return app.documentPool.read('kubeconfig', { text, name }, text)
}

/** Throws `request-invalid` if the kubeconfig of a context cannot be used. */
export async function checkKubeconfig(app: App, { type, data }: Pick<ContextInput, 'type' | 'data'>): Promise<void> {
  const text = data['kubeconfig']
  if (type !== 'kubernetes' || typeof text !== 'string' || text === MASK) return
  const read = await readStoredKubeconfig(app, text, 'cluster')
  if (!('problem' in read)) return
  const message = `Cannot use the kubeconfig. ${read.problem}`
  throw fault('request-invalid', { message, problems: [{ path: 'data.kubeconfig', message }] })
}
