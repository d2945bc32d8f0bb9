/** The badge of a pipeline: its address, and a link for a pipeline that is not public. */
import { useMutation } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import styles from './settings.module.css'

export function Badge({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const state = useSession()
  const off = useAway() ?? whyNot(state.kind === 'in' ? state.session : undefined, 'share-builds')
  const share = useMutation({ mutationFn: () => client.links.shareBadge(pipeline.id, {}) })
  const { isPublic } = pipeline.settings
  const url = isPublic ? `${location.origin}/badges/${encodeURIComponent(pipeline.name)}` : share.data?.url
  return (
    <section className={styles['section']}>
      <h2>Badge</h2>
      {url === undefined ? (
        <>
          <p className="quiet">The pipeline is not public. A link with a secret shows only its badge.</p>
          <div>
            <Button off={off} isBusy={share.isPending} onClick={() => share.mutate()}>
              Create an address of the badge
            </Button>
          </div>
        </>
      ) : (
        <>
          {!isPublic && <p role="status">This address is shown once.</p>}
          <Command text={`![build](${url})`} />
        </>
      )}
      {share.error !== null && <Problem error={share.error} />}
    </section>
  )
}
