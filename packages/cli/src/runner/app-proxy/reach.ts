/** Says whether the app-proxy answers at its address. DNS, certificate and ingress controller are not part of the installation, so a silent one is only reported. */
import { nodeTransport, proxyFrom } from '@windlass/kit'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'

const ANSWER_MS = 10_000

export async function reportReach(url: string, settings: Pick<Settings, 'caFile' | 'environment'>, out: Printer): Promise<void> {
  const why = await silenceOf(`${url}/api/readyz`, settings)
  if (why === undefined) return out.note(`${url} answers.`)
  out.note(`${url} does not answer on this machine: ${why}`)
  return out.note(
    'Check the DNS record of the host, its certificate, and that the ingress controller serves the class and terminates TLS.',
  )
}

/** Returns why the app-proxy does not answer; undefined if it does. */
async function silenceOf(
  url: string,
  { caFile, environment }: Pick<Settings, 'caFile' | 'environment'>,
): Promise<string | undefined> {
  try {
    const transport = nodeTransport({ caFile, proxy: proxyFrom(environment), connectMs: ANSWER_MS })
    const answer = await transport({ method: 'GET', url, headers: {}, timeoutMs: ANSWER_MS })
    await answer.text()
    return answer.status === 200 ? undefined : `the answer has the status ${answer.status}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
