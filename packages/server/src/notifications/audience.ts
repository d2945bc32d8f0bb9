/** Whether the owner of a notification may know about a build. */
import type { Right } from '@windlass/protocol'
import { placesOf, type KeyActor } from '../identity/actor.ts'
import { findUserActor } from '../identity/keys/key-actor.ts'
import type { BuildRow, NotificationRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'
import type { Happening } from './rule.ts'
import { isWithin, placeOf } from '../store/places.ts'

/** Reads the owner of a personal notification; undefined if the user was disabled or deleted. */
export async function findOwner(query: Query, row: NotificationRow): Promise<KeyActor | undefined> {
  return findUserActor(query, row.account_id, row.owner_id)
}

/** Returns true if the owner may see the build now, and decide the approval that it waits for. */
export function mayKnow(owner: KeyActor, build: Pick<BuildRow, 'project_id' | 'pipeline_id'>, { type }: Happening): boolean {
  const rights: Right[] = type === 'build.waiting' ? ['see-builds', 'decide-approvals'] : ['see-builds']
  return rights.every((right) => isWithin(placesOf(owner, right), placeOf(build)))
}
