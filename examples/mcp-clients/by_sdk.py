"""callsync mcp by the protocol's SDK for Python: by_sdk.py callsync.yaml"""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

server = StdioServerParameters(command="callsync", args=["mcp", "--config", sys.argv[1]])


async def main():
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        print(", ".join(tool.name for tool in (await session.list_tools()).tools))
        answer = await session.call_tool("query", {"sql": "SELECT count(*) AS calls FROM calls"})
        print(answer.content[0].text)


asyncio.run(main())
