/** The triggers of a pipeline: what starts its builds, when it last did, and when it will next. */
import { useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { useSearch } from 'wouter'
import { DeliveryList } from '../deliveries/delivery-list.tsx'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { useParam } from '../url/search.ts'
import { CronForm } from './cron-form.tsx'
import type { AnyTrigger } from './describe-trigger.ts'
import { EventForm } from './event-form.tsx'
import { GitForm } from './git-form.tsx'
import { triggerQueries } from './queries.ts'
import { TestDialog } from './test-dialog.tsx'
import { TriggerRow } from './trigger-row.tsx'
import { WebhookAddresses } from './webhook-addresses.tsx'

/** The tab. Its address keeps which form is open: `?new=git`, `?edit=ID` or `?test=1`. */
export function TriggersTab({ pipeline: { name: pipeline } }: { readonly pipeline: Pipeline }): ReactElement {
  const git = useQuery(triggerQueries.git(pipeline))
  const cron = useQuery(triggerQueries.cron(pipeline))
  const event = useQuery(triggerQueries.event(pipeline))
  const failed = [git, cron, event].find(({ data, error }) => data === undefined && error !== null)
  if (failed !== undefined) return <Problem error={failed.error} onRetry={() => void failed.refetch()} />
  if (git.data === undefined || cron.data === undefined || event.data === undefined) return <Loading rows={4} what="triggers" />
  return <Content pipeline={pipeline} triggers={[...git.data.items, ...cron.data.items, ...event.data.items]} />
}

interface ContentProps {
  readonly pipeline: string
  readonly triggers: readonly AnyTrigger[]
}

function Content({ pipeline, triggers }: ContentProps): ReactElement {
  const [added, setAdded] = useParam('new')
  const [, setTest] = useParam('test')
  const state = useSession()
  const away = useAway()
  const last = useQuery(triggerQueries.lastDeliveries(pipeline))
  const off = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'change-pipelines')
  usePaletteActions(() => [
    { id: 'add-git', group: 'Actions', label: 'Add a trigger for git events', off, run: () => setAdded('git') },
    { id: 'add-cron', group: 'Actions', label: 'Add a trigger at times', off, run: () => setAdded('cron') },
    { id: 'add-event', group: 'Actions', label: 'Add a trigger for images, charts or builds', off, run: () => setAdded('event') },
    { id: 'test-triggers', group: 'Actions', label: 'Test the triggers', run: () => setTest('1') },
  ])
  const add = (
    <div className={layout['buttons']}>
      <Button off={off} onClick={() => setAdded('git')}>
        Add a trigger for git events
      </Button>
      <Button off={off} onClick={() => setAdded('cron')}>
        Add a trigger at times
      </Button>
      <Button off={off} onClick={() => setAdded('event')}>
        Add a trigger for images, charts or builds
      </Button>
    </div>
  )
  const gits = triggers.filter((trigger) => trigger.type === 'git')
  return (
    <div className={layout['stack']}>
      <Dialogs pipeline={pipeline} triggers={triggers} added={added} />
      {triggers.length === 0 ? (
        <Empty action={add}>The pipeline has no triggers yet. A push starts nothing.</Empty>
      ) : (
        <>
          <div className={layout['buttons']}>
            {add}
            <Button onClick={() => setTest('1')}>Test the triggers</Button>
          </div>
          <div className={layout['list']} role="list" aria-label="Triggers">
            {triggers.map((trigger) => (
              <TriggerRow key={trigger.id} trigger={trigger} deliveries={last.data?.items ?? []} off={off} />
            ))}
          </div>
        </>
      )}
      <Command text={sh`windlass get triggers --pipeline ${pipeline}`} />
      {gits.length > 0 && <WebhookAddresses repos={[...new Set(gits.map(({ repo }) => repo))]} />}
      <h2>Deliveries</h2>
      <DeliveryList filter={{ pipeline }} />
    </div>
  )
}

function Dialogs({ pipeline, triggers, added }: ContentProps & { readonly added: string | undefined }): ReactElement | null {
  const [, setAdded] = useParam('new')
  const [edited, setEdited] = useParam('edit')
  const [, setTest] = useParam('test')
  const isTesting = new URLSearchParams(useSearch()).has('test')
  const trigger = triggers.find(({ id }) => id === edited)
  if (added === 'git') return <GitForm pipeline={pipeline} onClose={() => setAdded(undefined)} />
  if (added === 'cron') return <CronForm pipeline={pipeline} triggers={triggers} onClose={() => setAdded(undefined)} />
  if (added === 'event') return <EventForm pipeline={pipeline} onClose={() => setAdded(undefined)} />
  const close = (): void => setEdited(undefined)
  if (trigger?.type === 'git') return <GitForm pipeline={pipeline} trigger={trigger} onClose={close} />
  if (trigger?.type === 'cron') return <CronForm pipeline={pipeline} triggers={triggers} trigger={trigger} onClose={close} />
  if (trigger !== undefined) return <EventForm pipeline={pipeline} trigger={trigger} onClose={close} />
  if (!isTesting) return null
  const repo = triggers.find((one) => one.type === 'git')?.repo ?? ''
  return <TestDialog pipeline={pipeline} repo={repo} onClose={() => setTest(undefined)} />
}
