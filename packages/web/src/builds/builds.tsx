/** The list of builds: what runs, what waits and why, what failed. */
import { useState, type ReactElement } from 'react'
import { Command } from '../parts/copy.tsx'
import { Page } from '../shell/page.tsx'
import { useBuildFilter } from '../url/search.ts'
import { BuildList } from './build-list.tsx'
import { FilterBar } from './filter-bar.tsx'
import { toListCommand } from './list-command.ts'
import { Steady } from './steady.tsx'
import { Views } from './views/views.tsx'
import { WaitingBox } from './waiting-box.tsx'

export function Builds(): ReactElement {
  const [filter, setFilter] = useBuildFilter()
  const [isHeld, setIsHeld] = useState(false)
  const command = toListCommand(filter)
  return (
    <Page title="Builds">
      <FilterBar filter={filter} onChange={setFilter} />
      <Views filter={filter} onChange={setFilter} />
      <Steady isHeld={isHeld}>
        <WaitingBox />
      </Steady>
      <BuildList key={JSON.stringify(filter)} filter={filter} onChange={setFilter} onHold={setIsHeld} />
      {command !== undefined && <Command text={command} />}
    </Page>
  )
}
