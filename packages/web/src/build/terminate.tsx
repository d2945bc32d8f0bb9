/** Asks before a build is terminated. */
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Question } from '../parts/forms/question.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { whatStops } from './sentence.ts'

export function Terminate({ build, onClose }: { readonly build: Build; readonly onClose: () => void }): ReactElement {
  return (
    <Question
      title={`Terminate #${build.number}?`}
      verb="Terminate"
      onDo={async () => {
        await client.builds.terminate(build.id)
        void queryClient.invalidateQueries({ queryKey: queries.build(build.id).queryKey })
      }}
      onClose={onClose}
    >
      <p>
        <bdi>{whatStops(build)}</bdi>
        {build.status === 'terminating' ? 'The hooks of the build are stopped too.' : 'The hooks of the build still run.'}
      </p>
    </Question>
  )
}
