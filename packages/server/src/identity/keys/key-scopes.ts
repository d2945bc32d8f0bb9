import { Scope } from '@windlass/protocol'
import { z } from 'zod'
import type { ApiKeyRow } from '../../store/schema/user-schema.ts'

const Scopes = z.array(Scope)

/** Returns the scopes that a key is limited to; undefined if it may do everything that its role allows. */
export function readScopes({ scopes }: Pick<ApiKeyRow, 'scopes'>): Scope[] | undefined {
  return scopes === null ? undefined : Scopes.parse(JSON.parse(scopes))
}
