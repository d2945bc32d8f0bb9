/** Buckets of moto for logs. */
import { newId } from '@windlass/kit'
import type { ServerOptions } from '../../src/index.ts'

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
