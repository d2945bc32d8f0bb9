import { join } from 'node:path'
import { runProgram } from '../../../../e2e/support/process.ts'

/** Files of a private CA and of its certificate for a server on 127.0.0.1, also named platform.example. */
export interface Certificates {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Creates a private CA and a certificate for 127.0.0.1 in a folder. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const [ca, caKey, cert, key, request] = ['ca.pem', 'ca.key', 'cert.pem', 'cert.key', 'cert.csr'].map((name) =>
    join(folder, name),
  )
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const authority = ['-addext', 'basicConstraints=critical,CA:TRUE', '-days', '2', '-subj', '/CN=private authority']
  await runProgram('openssl', ['req', '-x509', ...newKey, '-keyout', `${caKey}`, '-out', `${ca}`, ...authority])
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:platform.example', '-subj', '/CN=server']
  await runProgram('openssl', ['req', ...newKey, '-keyout', `${key}`, '-out', `${request}`, ...names])
  const sign = ['-CA', `${ca}`, '-CAkey', `${caKey}`, '-copy_extensions', 'copy', '-days', '2']
  await runProgram('openssl', ['x509', '-req', '-in', `${request}`, '-out', `${cert}`, ...sign])
  return { ca: `${ca}`, cert: `${cert}`, key: `${key}` }
}
