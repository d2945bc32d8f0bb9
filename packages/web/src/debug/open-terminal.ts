/** Opens a terminal in a held step and shows it. */
import { useMutation } from '@tanstack/react-query'
import type { Build } from '@windlass/protocol'
import { useLocation } from 'wouter'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { paths } from '../url/paths.ts'
import { debugQuery } from './queries.ts'

/** The size until its document knows how much room it has. */
const FIRST_SIZE = { columns: 100, rows: 30 }

export interface OpenTerminal {
  readonly isBusy: boolean
  readonly error: Error | null
  readonly run: (step: string) => void
}

export function useOpenTerminal(build: Build): OpenTerminal {
  const [, go] = useLocation()
  const { mutate, isPending, error } = useMutation({
    mutationFn: (step: string) => client.debug.openTerminal(build.id, { ...FIRST_SIZE, kind: 'xterm-256color', step }),
    onSuccess: async ({ id: terminal }) => {
      await queryClient.invalidateQueries({ queryKey: debugQuery(build.id).queryKey })
      // On the tab of the debugger, the terminal takes the place of the wait for it.
      go(paths.debug(build.id, { terminal }), { replace: location.pathname === paths.debug(build.id) })
    },
  })
  return { isBusy: isPending, error, run: mutate }
}
