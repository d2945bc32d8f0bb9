/** Restarts a build and goes to the new one. */
import { useMutation } from '@tanstack/react-query'
import { isFinalBuild } from '@windlass/plan'
import type { Build, RestartInput } from '@windlass/protocol'
import { useLocation } from 'wouter'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { tellProblem } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'

export interface Restart {
  /** Why it cannot be done now. */
  readonly off: string | undefined
  readonly isBusy: boolean
  /** `placeOf` returns the address that shows the new build. By default that of the build. */
  readonly run: (input: RestartInput, placeOf?: (id: string) => string) => void
}

interface Wanted {
  readonly input: RestartInput
  readonly placeOf: (id: string) => string
}

export function useRestart(build: Build): Restart {
  const [, go] = useLocation()
  const forbidden = useOff('start-builds')
  const { mutate, isPending } = useMutation({
    mutationFn: ({ input }: Wanted) => client.builds.restart(build.id, input),
    onSuccess: (started, { placeOf }) => {
      queryClient.setQueryData(queries.build(started.id).queryKey, started)
      void queryClient.invalidateQueries({ queryKey: ['builds'] })
      go(placeOf(started.id))
    },
    onError: tellProblem,
  })
  const open = isFinalBuild(build.status) ? undefined : 'The build has not ended yet.'
  const run: Restart['run'] = (input, placeOf = paths.build) => {
    // A second press must not start a second build.
    if (!isPending) mutate({ input, placeOf })
  }
  return { off: forbidden ?? open, isBusy: isPending, run }
}
