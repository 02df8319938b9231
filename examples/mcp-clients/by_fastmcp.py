"""callsync mcp by FastMCP: by_fastmcp.py callsync.yaml"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main():
    async with Client(StdioTransport("callsync", ["mcp", "--config", sys.argv[1]])) as client:
        print(", ".join(tool.name for tool in await client.list_tools()))
        answer = await client.call_tool("query", {"sql": "SELECT count(*) AS calls FROM calls"})
        print(answer.content[0].text)


asyncio.run(main())
