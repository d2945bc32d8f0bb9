/** Checksums of a release, and their signature. */
import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import { createReadStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { listFiles } from './files.ts'

const SUMS = 'SHA256SUMS'

/** Reads the key that signs. Throws unless it is an Ed25519 key in PEM: signatures of other kinds differ each time, or are longer. */
export function readSigningKey(path: string): KeyObject {
  const key = createPrivateKey(readFileSync(path))
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new Error(`${path} is a key of type ${key.asymmetricKeyType}: create one with \`openssl genpkey -algorithm ed25519\``)
}

/** Writes `SHA256SUMS` of all files of the folder, and with a key its signature and the public key. */
export async function writeChecksums(folder: string, key: KeyObject | undefined): Promise<void> {
  const lines: string[] = []
  for (const path of listFiles(folder)) lines.push(`${await hashFile(join(folder, path))}  ${path}\n`)
  const sums = Buffer.from(lines.join(''))
  writeFileSync(join(folder, SUMS), sums)
  if (key === undefined) return
  writeFileSync(join(folder, `${SUMS}.sig`), sign(null, sums, key))
  writeFileSync(join(folder, 'release.pub'), createPublicKey(key).export({ type: 'spki', format: 'pem' }))
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
