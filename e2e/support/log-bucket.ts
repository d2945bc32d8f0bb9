/** Buckets of moto for logs. */
import { newId } from '@windlass/kit'
import type { ServerOptions } from '@windlass/server'

/** Credentials that moto accepts. */
export const KEYS = { AWS_ACCESS_KEY_ID: 'AKIATEST', AWS_SECRET_ACCESS_KEY: 'secret' }

/** Creates a bucket and returns its name. */
export async function createBucket(motoUrl: string): Promise<string> {
  const name = `logs-${newId(Date.now())}`
  const answer = await fetch(`${motoUrl}/${name}`, { method: 'PUT' })
  if (!answer.ok) throw new Error(`the bucket was not created: ${answer.status} ${await answer.text()}`)
  return name
}

/** Returns server options that store logs in a bucket. */
export function logsIn(bucket: string, endpoint: string): Required<Pick<ServerOptions, 'logsUrl' | 'environment' | 's3Limits'>> {
  return {
    logsUrl: `s3://${bucket}/windlass/logs?endpoint=${endpoint}`,
    environment: KEYS,
    s3Limits: { tryMs: 5_000, callMs: 10_000 },
  }
}

export interface Bucket {
  /** Options of a server that stores its logs in the bucket. */
  readonly options: Required<Pick<ServerOptions, 'logsUrl' | 'environment' | 's3Limits'>>
  /** Returns all objects as one text. Bytes that are not UTF-8 are replaced. */
  readAll(): Promise<string>
}

export async function openBucket(motoUrl: string): Promise<Bucket> {
  const name = await createBucket(motoUrl)
  return {
    options: logsIn(name, motoUrl),
    async readAll() {
      const texts: string[] = []
      for (const key of await keysOf(motoUrl, name)) {
        const object = await fetch(`${motoUrl}/${name}/${key}`)
        texts.push(Buffer.from(await object.arrayBuffer()).toString('utf8'))
      }
      return texts.join('\n')
    },
  }
}

/** Returns the keys in a bucket, of all pages. */
async function keysOf(motoUrl: string, name: string): Promise<string[]> {
  const keys: string[] = []
  for (let token: string | undefined = ''; token !== undefined;) {
    const more: string = token === '' ? '' : `&continuation-token=${encodeURIComponent(token)}`
    const xml = await (await fetch(`${motoUrl}/${name}?list-type=2${more}`)).text()
    keys.push(...[...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => match[1] ?? ''))
    token = /<NextContinuationToken>([^<]*)</.exec(xml)?.[1]
  }
  return keys
}
