/** Reads and changes views: the own ones, which are preferences, and those that all users share. */
import { queryOptions } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import type { Preferences, StoredPreferences, ViewFilter } from '@windlass/protocol'
import { client } from '../../server/client.ts'
import { queryClient } from '../../server/query-client.ts'

/** A view of the user, or one that all users share. */
export interface ShownView {
  readonly name: string
  readonly filter: ViewFilter
  readonly shared: boolean
  readonly isDefault: boolean
}

export const viewQueries = {
  preferences: () =>
    queryOptions({ queryKey: ['preferences'], queryFn: ({ signal }) => client.preferences.get({ signal }), staleTime: 60_000 }),
  shared: () => queryOptions({ queryKey: ['views'], queryFn: ({ signal }) => client.views.list({ signal }), staleTime: 60_000 }),
}

const TRIES = 3

/** Changes what is stored now, which another tab may have changed since the page read it. */
export async function changePreferences(change: (preferences: Preferences) => Preferences): Promise<StoredPreferences> {
  for (let tries = 1; ; tries += 1) {
    const { revision, ...stored } = await client.preferences.get()
    try {
      const changed = await client.preferences.put(change(stored), { headers: { 'if-match': `"${revision}"` } })
      queryClient.setQueryData(viewQueries.preferences().queryKey, changed)
      return changed
    } catch (error) {
      if (!isFault(error, 'conflict') || tries === TRIES) throw error
    }
  }
}

/** Reads the shared views again. */
export async function refreshShared(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: viewQueries.shared().queryKey })
}
