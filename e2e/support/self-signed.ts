import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from './process.ts'

const ELLIPTIC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']

/** Creates a self-signed certificate for an address, with its key. Default: an elliptic one, which is quick. */
export async function selfSigned(address: string, newKey: readonly string[] = ELLIPTIC): Promise<{ cert: string; key: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-self-signed-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const names = `subjectAltName=IP:${address}`
  const kind = [...newKey, '-nodes', '-days', '2']
  await runProgram('openssl', ['req', '-x509', ...kind, '-subj', '/CN=registry', '-addext', names, '-keyout', key, '-out', cert])
  const pair = { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') }
  await rm(folder, { recursive: true })
  return pair
}
